"""Style sheets of the cards. Each applies inside one component's shadow root.

The page may set the colours (``--page-…``); where it does not, as in ``panel serve``, the light ones
given here hold.
"""

# Set once, on the card; custom properties reach into every shadow root below it.
CARD = """
:host {
  --ink: var(--page-ink, #1c1b19); --muted: var(--page-muted, #66635c); --paper: var(--page-paper, #fcfbf8);
  --line: var(--page-line, #dcd8cf); --wash: var(--page-wash, #f2efe8); --accent: var(--page-accent, #0b6c8c);
  --on-accent: var(--page-on-accent, #ffffff); --changed: var(--page-changed, #fff3c4); --warn: var(--page-warn, #8a5a00);
  --sans: system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, "Liberation Sans", sans-serif;
  --mono: ui-monospace, "SF Mono", Menlo, Consolas, "Liberation Mono", "DejaVu Sans Mono", monospace;
  color: var(--ink); font-family: var(--sans); font-size: 15px; line-height: 1.45;
  display: flex; flex-direction: column; gap: 14px; width: 100%; margin: 0; container-type: inline-size; position: relative;
  -webkit-text-size-adjust: 100%;
  --bk-axis-line-color: transparent; --bk-major-label-text-color: var(--ink); --bk-text-color: var(--ink);
  --bk-border-fill-color: var(--paper); --bk-background-fill-color: var(--paper);
  --bk-axis-label-text-color: var(--muted); --bk-grid-line-color: var(--line); --bk-outline-line-color: transparent;
}
"""

HEADER = """
:host { width: 100%; }
.kicker { font: 600 12px/1.4 var(--sans); letter-spacing: .09em; text-transform: uppercase; color: var(--muted); }
.title { font: 600 21px/1.3 var(--sans); margin: 2px 0 4px; text-wrap: balance; color: var(--ink); }
.prompt { margin: 0; color: var(--muted); max-width: 66ch; font: 15px/1.45 var(--sans); }
"""

# A row that wraps; for controls and, below, scenes and panels. Paper has no use for what can be pressed.
FLOW = """
:host { display: flex !important; flex-flow: row wrap !important; gap: 12px 20px; width: 100%; }
div { align-self: flex-end !important; }  /* Bokeh aligns each child by itself, at the top */
@media print { :host { display: none !important; } }
"""
CHIPS = """
:host { display: flex !important; flex-flow: row wrap !important; gap: 8px; width: 100%; }
@media print { :host { display: none !important; } }
"""
PANELS = """
:host { display: flex !important; flex-flow: row wrap !important; gap: 22px 24px; align-items: flex-start;
  justify-content: flex-start; width: 100%; }
"""
PANEL = """
:host { display: flex; flex-direction: column; gap: 4px; flex: 1 1 288px; min-width: 0; max-width: 340px; container-type: inline-size; }
@container (max-width: 620px) { :host { max-width: 100%; } }
"""

CONTROL = """
:host { font-family: var(--sans); font-size: 15px; color: var(--ink); margin: 0 !important; width: auto; }
:host([data-label])::before { content: attr(data-label); display: block; font-size: 13px; color: var(--muted);
  margin-bottom: 4px; line-height: 1.3; }
.bk-input-group > label, .bk-slider-title { display: none !important; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
"""

SEGMENTED = """
.bk-input-group { display: inline-flex !important; flex-direction: row !important; gap: 0 !important; padding: 0 !important;
  border: 1px solid var(--muted); border-radius: 7px; overflow: clip; background: var(--paper); }
.bk-input-group > label { display: inline-flex !important; position: relative; align-items: stretch; line-height: 1.2; margin: 0 !important; padding: 0 !important; cursor: pointer; }
.bk-input-group > label + label { border-left: 1px solid var(--muted); }
.bk-input-group input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0; opacity: 0; cursor: pointer; }
.bk-input-group span { position: static; padding: 0 13px; margin: 0 !important; min-height: 34px; display: inline-flex; align-items: center; white-space: nowrap; }
.bk-input-group input:checked + span { background: var(--accent); color: var(--on-accent); }
.bk-input-group input:focus-visible + span { box-shadow: inset 0 0 0 3px var(--ink), inset 0 0 0 5px var(--paper); }
@media (pointer: coarse) { .bk-input-group span { min-height: 44px; } }
"""

FIELD = """
.bk-input { font: 15px/1 var(--sans) !important; font-variant-numeric: tabular-nums; color: var(--ink) !important;
  background-color: var(--paper) !important; border: 1px solid var(--muted) !important; border-radius: 7px !important;
  min-height: 36px !important; height: auto; padding: 0 9px !important; width: auto; box-sizing: border-box; }
input.bk-input { width: 7.6em; }
select.bk-input { appearance: none; padding-right: 28px !important; background: var(--paper) no-repeat right 9px center !important;
  background-image: url("data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' width='11' height='7'%3E%3Cpath d='M1 1l4.5 4.5L10 1' fill='none' stroke='%23808080' stroke-width='1.8'/%3E%3C/svg%3E") !important; }
.bk-input:focus { box-shadow: none !important; outline: 3px solid var(--accent); outline-offset: 2px; }
@media (pointer: coarse) { .bk-input { min-height: 44px !important; } }
"""

SLIDER = """
:host { min-width: 180px; flex: 1 1 200px; }
.noUi-target { height: 6px !important; width: calc(100% - 24px) !important; margin: 15px 12px !important; border: 0; border-radius: 3px; background: var(--line);
  box-shadow: none; }
.noUi-handle { width: 24px !important; height: 24px !important; top: -9px !important; right: -12px !important; border-radius: 50%;
  border: 2px solid var(--paper); background: var(--accent); box-shadow: 0 0 0 1px var(--accent); cursor: grab; }
.noUi-handle::before, .noUi-handle::after { display: none; }
.noUi-handle:focus-visible { outline: 3px solid var(--ink); outline-offset: 2px; }
@media (pointer: coarse) { .noUi-target { margin: 19px 12px !important; }
  .noUi-touch-area { position: absolute; inset: -12px; width: auto; height: auto; } }
"""

SWITCH = """
:host { position: relative; display: inline-flex !important; align-items: center; min-height: 36px; }
input { position: absolute; inset: 0; width: 100%; height: 100%; margin: 0 !important; opacity: 0; cursor: pointer; }
.bk-label { display: flex !important; align-items: center; gap: 9px; line-height: 1.25; }
.bk-label::before { content: ""; flex: none; box-sizing: border-box; width: 38px; height: 22px; border-radius: 11px;
  border: 1px solid var(--muted); background: radial-gradient(circle at 10px 10px, var(--muted) 7px, transparent 7.5px); }
input:checked + .bk-label::before { border-color: var(--accent);
  background: radial-gradient(circle at 26px 10px, var(--on-accent) 7px, transparent 7.5px) var(--accent); }
input:focus-visible { outline: none; }
input:focus-visible + .bk-label { outline: 3px solid var(--accent); outline-offset: 2px; border-radius: 4px; }
@media (pointer: coarse) { :host { min-height: 44px; } }
"""

STEPPER = """
:host { display: flex !important; flex-direction: row; gap: 8px; }
div { align-self: flex-end !important; }
"""

CHIP = """
:host { margin: 0 !important; }
.bk-btn { font: 14px/1.25 var(--sans) !important; color: var(--ink) !important; background: var(--wash) !important;
  border: 1px solid var(--line) !important; border-radius: 17px !important; padding: 0 13px !important; min-height: 34px;
  box-shadow: none !important; white-space: normal; text-align: left; }
.bk-btn:hover { border-color: var(--muted) !important; }
.bk-btn[aria-pressed="true"] { border-color: var(--accent) !important; box-shadow: inset 0 0 0 1px var(--accent) !important; }
.bk-btn:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
@media (pointer: coarse) { .bk-btn { min-height: 44px; border-radius: 22px !important; } }
"""

# Buttons of long work: one that cannot be pressed now keeps its place and its focus.
BUSY = """
.bk-btn[aria-disabled="true"], .bk-btn[aria-disabled="true"]:hover { opacity: .5; cursor: default; border-color: var(--line) !important; }
.bk-btn[aria-busy="true"] { cursor: progress; }
"""
RUN = """
:host { flex: 0 1 auto !important; flex-wrap: wrap; }
"""
PROGRESS = """
:host { width: auto !important; min-width: 132px; font: 13px/1.3 var(--sans); color: var(--muted);
  font-variant-numeric: tabular-nums; }
.progress { display: inline-flex; flex-direction: column; gap: 3px; white-space: nowrap; }
.idle { visibility: hidden; }
progress { width: 128px; height: 8px; accent-color: var(--accent); }
"""

READOUTS = """
:host { width: 100%; container-type: inline-size; }
dl { margin: 0; display: grid; grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); gap: 8px 18px;
  border-top: 1px solid var(--line); padding: 10px 0 8px; font-variant-numeric: tabular-nums; }
@container (min-width: 640px) { dl { grid-template-columns: repeat(4, 1fr); } }
dl > div { min-width: 0; }
dl > .broad { grid-column: span 2; }
dt { font: 13px/1.3 var(--sans); color: var(--muted); }
dd { margin: 1px 0 0; font-family: var(--sans); color: var(--ink); }
.value { font-size: clamp(16px, 4.6cqi, 19px); line-height: 1.3; font-weight: 600; letter-spacing: -.01em; display: inline-block; white-space: pre-wrap;
  border-radius: 3px; }
.beside { display: block; font-size: 12.5px; line-height: 1.35; color: var(--muted); overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
dl.more { grid-template-columns: repeat(auto-fill, minmax(150px, 1fr)); border-bottom: 1px solid var(--line); gap: 6px 18px; }
@container (min-width: 640px) { dl.more { grid-template-columns: repeat(3, auto); justify-content: start; column-gap: 40px; } }
.more dt { font-size: 12.5px; }
.more .value { font-size: 14px; font-weight: 500; letter-spacing: 0; line-height: 1.35; }
.more > div:nth-child(n + 4) { grid-column: span 1; }
.changed { animation: mark 1.2s ease-out; }
@keyframes mark { from { background: var(--changed); box-shadow: 0 0 0 4px var(--changed); } }
@media (prefers-reduced-motion: reduce) { .changed { animation: none; text-decoration: underline 2px var(--accent); } }
"""

PROSE = """
:host { width: 100%; }
p, .line { margin: 0; font: 14px/1.5 var(--sans); color: var(--ink); max-width: 80ch; }
.muted, .muted p { color: var(--muted); }
.notice { color: var(--warn); }
.notice:empty { display: none; }
.how { color: var(--ink); font-family: var(--mono); font-size: 13px; line-height: 1.6; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
b.q { color: var(--page-query, #0072B2); } b.k { color: var(--page-key, #B84F00); } b.v { color: var(--page-value, #00795a); }
.caption { font: 13px/1.4 var(--sans); color: var(--muted); }
.caption + .how { margin-top: 9px; }
.whole { white-space: nowrap; }
.caption b { color: var(--ink); font-weight: 600; }
.scale { display: flex; align-items: center; gap: 8px; font: 12px/1 var(--sans); color: var(--muted);
  font-variant-numeric: tabular-nums; margin-top: 4px; }
.scale i { flex: 0 1 120px; height: 8px; border-radius: 2px; }
"""

# Said to screen readers only.
UNSEEN = """
:host { position: absolute !important; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
@media print { :host { display: none !important; } }
"""

# BokehJS paints and clears from half a pixel inside a canvas on, so that the first row and column of pixels may keep
# something of an earlier size.
PLOT = """
.bk-Canvas { clip-path: inset(2px 0 0 2px); }
:host { width: 100%; flex: 0 0 auto !important; touch-action: pan-x pan-y pinch-zoom; }
"""
