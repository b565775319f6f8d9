"""What the figures share: state and query, controls, heatmaps, readouts, card, palette."""
