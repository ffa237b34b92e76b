"""How the multichannel method packs and multiplies, drawn."""
