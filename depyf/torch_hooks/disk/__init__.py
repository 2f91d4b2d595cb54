"""Files on disk: the folder of a session, who may write in it, and what many processes leave side by side."""
