"""Questions that several stages ask about a program: locals without a value, frames that read their own names."""
