"""Plans: an algorithm at one size, as textures and the passes over them; data without any GL."""
