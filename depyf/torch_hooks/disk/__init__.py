"""Files on disk: the folder of a session, the claims of processes on folders, and merging what many processes wrote."""
