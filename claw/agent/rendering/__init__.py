"""An answer made fit to show: thoughts and call markup taken out."""
