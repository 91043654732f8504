"""What the commands share, and what each of them does."""
