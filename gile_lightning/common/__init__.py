"""What every subpackage may use: errors, parts as plain values, the console, child processes."""
