"""Frames: the functions that Dynamo compiled or skipped, and the files of their transformed code."""
