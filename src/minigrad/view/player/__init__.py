"""The step player: frames, and the page that shows them."""
