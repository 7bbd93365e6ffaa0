"""A game day on a running goodput stack: leading it, recording it, and reporting on it.

The way through the modules: `cli` reads the command; `stack` and `plane` speak to the control
planes; `watch` samples them and Prometheus; `record` writes what is seen as it comes; `lead`
takes a facilitator through the rounds with `levers`; `series` and `figures` are pure and turn a
record into figures; `findings`, `markdown`, `page` and `chart` draw the report.
"""
