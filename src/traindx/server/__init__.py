"""`traindx serve`: every run below a directory with its health, in a browser. Read-only: it writes nothing and runs
nothing.

`shelf` knows the runs and looks at them in the background, `pages` lays them out with the components of the HTML
report, `guard` decides who may ask, `app` answers, `web` is the socket."""
