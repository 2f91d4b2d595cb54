"""What one session saw, as plain data, and its saved forms: the manifest and the journal."""
