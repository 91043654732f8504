"""What the commands share, and what fit, evaluate and predict do behind their doors."""
