"""What people read: tables, figures and one page with all of it."""
