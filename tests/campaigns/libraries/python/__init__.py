"""Programs that run in the environments of Python libraries; they import nothing but `flows` and their library."""
