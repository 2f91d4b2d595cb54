"""The page: `index.html` and its side files, made of a record and the texts of its folder, and opened from disk."""
