// Draws a dashboard from the data that scripts/checks/30-replay --keep leaves, with Grafana's own UI library.
//
// Lines, tiles and frames of panels are Grafana's components. State timeline, heatmap, table and alert list are in
// no package; they are drawn here with the panel's own thresholds and mappings. It is no screenshot of Grafana.
import { useEffect, useLayoutEffect, useRef } from 'react';
import { createRoot } from 'react-dom/client';
import { FieldType, createTheme, dateTime, getDisplayProcessor, toDataFrame } from '@grafana/data';
import {
  BigValue, BigValueColorMode, BigValueGraphMode, BigValueTextMode, GlobalStyles, PanelChrome, PortalContainer, ThemeContext, TimeSeries,
} from '@grafana/ui';
import data from 'frames.json';

const COLUMN = 56, ROW = 30, GAP = 8;
const theme = createTheme({ colors: { mode: 'dark' } });
const [from, to] = [dateTime(data.begin * 1000), dateTime(data.end * 1000)];
const range = { from, to, raw: { from, to } };
const span = data.end - data.begin;
const regions = Object.values(data.regions).flat();
const colours = Object.fromEntries(data.board.annotations.list.map((one) => [one.name, one.iconColor]));

/** The panel's series as data frames, with its field options and overrides applied as Grafana applies them. */
function framesOf(panel) {
  const frames = [];
  for (const target of panel.targets) {
    for (const [labels, points] of data.frames[panel.id + target.refId] ?? []) {
      const name = target.legendFormat.replace(/\{\{\s*(\w+)\s*\}\}/g, (_, label) => labels[label] ?? '').trim();
      frames.push(frameOf(panel, name, labels, points, frames.length));
    }
  }
  return frames;
}

function frameOf(panel, name, labels, points, index) {
  const config = structuredClone(panel.fieldConfig.defaults);
  config.thresholds?.steps.forEach((step) => { step.value ??= -Infinity; });
  config.displayNameFromDS = name;
  for (const { matcher, properties } of panel.fieldConfig.overrides) {
    const pattern = matcher.id === 'byRegexp' && new RegExp(matcher.options.replace(/^\/|\/$/g, ''));
    if (matcher.options !== name && !(pattern && pattern.test(name))) continue;
    for (const { id, value } of properties) {
      if (id.startsWith('custom.')) (config.custom ??= {})[id.slice(7)] = value;
      else config[id] = value;
    }
  }
  const frame = toDataFrame({
    fields: [
      { name: 'Time', type: FieldType.time, config: {}, values: points.map(([at]) => at * 1000) },
      { name: 'Value', type: FieldType.number, labels, config, values: points.map(([, value]) => value) },
    ],
  });
  frame.fields.forEach((field, position) => {
    field.state = { ...field.state, seriesIndex: position ? index : undefined };
    field.display = getDisplayProcessor({ field, theme, timeZone: 'utc' });
  });
  return frame;
}

/** Shades faults and marks levers behind the lines. */
function Shades({ config }) {
  useLayoutEffect(() => {
    config.addHook('drawClear', (plot) => {
      const brush = plot.ctx;
      brush.save();
      for (const [name, found] of Object.entries(data.regions)) {
        if (name === 'Alerts') continue;
        brush.fillStyle = theme.visualization.getColorByName(colours[name]);
        brush.globalAlpha = name === 'Levers' ? 0.9 : 0.22;
        for (const one of found) {
          const left = plot.valToPos(one.from * 1000, 'x', true);
          const right = plot.valToPos(one.to * 1000, 'x', true);
          const width = name === 'Levers' ? 2 : Math.max(2, right - left);
          brush.fillRect(left, plot.bbox.top, width, plot.bbox.height);
        }
      }
      brush.restore();
    });
  }, [config]);
  return null;
}

function Lines({ panel, width, height }) {
  return (
    <TimeSeries
      frames={framesOf(panel)} timeRange={range} timeZone="utc" width={width} height={height}
      legend={panel.options.legend} options={panel.options} replaceVariables={(text) => text}
    >
      {(config) => <Shades config={config} />}
    </TimeSeries>
  );
}

function Tile({ panel, width, height }) {
  const [frame] = framesOf(panel);
  if (!frame) return null;
  const [time, field] = frame.fields;
  // While it is metastable: the tiles of an arm that has recovered would say nothing.
  const moment = (data.regions.Levers[0]?.from ?? data.end) - 5;
  const index = time.values.findLastIndex((at) => at <= moment * 1000);
  return (
    <BigValue
      value={field.display(field.values[index])} theme={theme} width={width} height={height}
      colorMode={panel.options.colorMode === 'background' ? BigValueColorMode.Background : BigValueColorMode.Value}
      graphMode={BigValueGraphMode.Area} textMode={BigValueTextMode.Value}
      sparkline={panel.options.graphMode === 'area' ? { x: time, y: field, timeRange: range } : undefined}
    />
  );
}

function States({ panel, width, height }) {
  const frames = framesOf(panel);
  const label = 180, band = height / Math.max(1, frames.length);
  const place = (at) => label + ((at / 1000 - data.begin) / span) * (width - label);
  const blocks = frames.flatMap((frame, row) => {
    const [time, field] = frame.fields;
    const pieces = [];
    field.values.forEach((value, index) => {
      const last = pieces.at(-1);
      if (last && last.value === value && time.values[index] - last.to <= 3000) last.to = time.values[index];
      else pieces.push({ value, from: time.values[index], to: time.values[index] });
    });
    return pieces.map((piece) => {
      const shown = field.display(piece.value);
      const left = place(piece.from), wide = Math.max(2, place(piece.to + 1000) - left);
      const style = {
        position: 'absolute', left, width: wide, top: row * band + 2, height: band - 4, fontSize: 12, overflow: 'hidden',
        background: shown.color, color: theme.colors.getContrastText(shown.color), textAlign: 'center', lineHeight: `${band - 4}px`,
      };
      return <div key={`${row} ${piece.from}`} style={style}>{wide > 60 ? shown.text : ''}</div>;
    });
  });
  const names = frames.map((frame, row) => {
    const style = { position: 'absolute', left: 0, top: row * band, lineHeight: `${band}px`, fontSize: 12 };
    return <div key={row} style={style}>{frame.fields[1].config.displayNameFromDS}</div>;
  });
  return <div style={{ position: 'relative', width, height }}>{names}{blocks}</div>;
}

function Heatmap({ panel, width, height }) {
  const canvas = useRef();
  useEffect(() => {
    const brush = canvas.current.getContext('2d');
    const buckets = [...data.frames[`${panel.id}A`]].sort(([left], [right]) => Number(left.le.replace('+Inf', 'Infinity')) - Number(right.le.replace('+Inf', 'Infinity')));
    const left = 56, cells = new Map();
    buckets.forEach(([, points], row) => points.forEach(([at, value]) => {
      if (!cells.has(at)) cells.set(at, new Array(buckets.length).fill(0));
      cells.get(at)[row] = value;
    }));
    let most = 0;
    for (const column of cells.values()) {
      for (let row = column.length - 1; row > 0; row--) column[row] = Math.max(0, column[row] - column[row - 1]);
      most = Math.max(most, ...column);
    }
    const tall = height / buckets.length, wide = (width - left) / span;
    for (const [at, column] of cells) {
      column.forEach((value, row) => {
        if (value < 1e-9) return;
        brush.fillStyle = `hsl(${260 - 230 * Math.sqrt(value / most)} 85% 55%)`;
        brush.fillRect(left + (at - data.begin) * wide, height - (row + 1) * tall, Math.ceil(wide), Math.max(1, tall - 1));
      });
    }
    brush.fillStyle = theme.colors.text.secondary;
    brush.font = '11px sans-serif';
    buckets.forEach(([labels], row) => {
      const bound = Number(labels.le);
      if (row % 4 === 0 && Number.isFinite(bound)) brush.fillText(`${Number(bound.toPrecision(2))} s`, 2, height - row * tall - 2);
    });
  }, []);
  return <canvas ref={canvas} width={width} height={height} />;
}

/** What an alert list has, as lines of text. */
function Alerts() {
  const lines = new Set(data.regions.Alerts.map((one) => `${one.labels.alertname} · ${one.labels.severity}`));
  return <div style={{ padding: 8, fontSize: 12 }}>{[...lines].map((line) => <div key={line}>{line}</div>)}</div>;
}

/** A line for each arm, with the labels of all queries and their values. */
function Table({ panel }) {
  const renamed = panel.transformations.find(({ id }) => id === 'organize').options.renameByName;
  const lines = {};
  for (const target of panel.targets) {
    for (const [labels, [[, value]]] of data.frames[panel.id + target.refId] ?? []) {
      const line = (lines[labels.arm] ??= {});
      Object.assign(line, labels);
      const column = renamed[`Value #${target.refId}`];
      if (column) line[column] = shown(panel, column, value);
    }
  }
  const columns = [...new Set(Object.values(lines).flatMap(Object.keys))];
  const cell = { padding: '2px 14px', textAlign: 'left' };
  return (
    <table style={{ fontSize: 12 }}>
      <thead><tr>{columns.map((name) => <th key={name} style={cell}>{name}</th>)}</tr></thead>
      <tbody>
        {Object.values(lines).map((line) => (
          <tr key={line.arm}>{columns.map((name) => <td key={name} style={cell}>{line[name]}</td>)}</tr>
        ))}
      </tbody>
    </table>
  );
}

/** A value as the column's unit and mappings show it. */
function shown(panel, column, value) {
  const override = panel.fieldConfig.overrides.find(({ matcher }) => matcher.options === column);
  const config = Object.fromEntries((override?.properties ?? []).map((one) => [one.id, one.value]));
  const display = getDisplayProcessor({ field: { type: FieldType.number, config: { decimals: 2, ...config } }, theme, timeZone: 'utc' });
  const { prefix = '', text, suffix = '' } = display(value);
  return prefix + text + suffix;
}

const KINDS = { timeseries: Lines, stat: Tile, 'state-timeline': States, heatmap: Heatmap, table: Table, alertlist: Alerts };

function Panel({ panel }) {
  const { x, y, w, h } = panel.gridPos;
  const Body = KINDS[panel.type];
  return (
    <div style={{ position: 'absolute', left: x * COLUMN + GAP, top: y * ROW + GAP }}>
      <PanelChrome title={panel.title} width={w * COLUMN - GAP} height={h * ROW - GAP}>
        {(width, height) => <Body panel={panel} width={width} height={height} />}
      </PanelChrome>
    </div>
  );
}

const rows = Math.max(...data.board.panels.map(({ gridPos }) => gridPos.y + gridPos.h));
const canvas = { position: 'relative', width: 24 * COLUMN + GAP, height: rows * ROW + GAP, background: theme.colors.background.canvas };
createRoot(document.getElementById('root')).render(
  <ThemeContext.Provider value={theme}>
    <GlobalStyles />
    <div style={canvas}>{data.board.panels.map((panel) => <Panel key={panel.id} panel={panel} />)}</div>
    <PortalContainer />
  </ThemeContext.Provider>,
);
