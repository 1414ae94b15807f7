"""What a Value is made of; nothing but the standard library."""
