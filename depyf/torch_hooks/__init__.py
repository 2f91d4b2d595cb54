"""The one adapter package between depyf and torch: it may import torch, lazily, inside functions."""
