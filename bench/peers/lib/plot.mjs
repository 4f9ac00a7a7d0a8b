// The rates as SVG: one panel for each operation, both axes said, readable on light and dark.

const WIDTH = 960
const PANEL = { width: 270, height: 170, left: 46, top: 78, gapX: 36, gapY: 62 }
// Shape and colour both tell the products apart.
const LOOKS = [
  { light: '#0b6e4f', dark: '#4fd1a5', mark: (x, y) => `<circle cx="${x}" cy="${y}" r="4"/>` },
  { light: '#b45309', dark: '#fbbf6b', mark: (x, y) => `<rect x="${x - 3.5}" y="${y - 3.5}" width="7" height="7"/>` },
  { light: '#1d4ed8', dark: '#8ab4ff', mark: (x, y) => `<path d="M${x} ${y - 5}l5 8.5h-10z"/>` },
  { light: '#a21caf', dark: '#f0a3f7', mark: (x, y) => `<path d="M${x} ${y - 5}l5 5l-5 5l-5 -5z"/>` },
]

export function plot(results, operations) {
  const products = results.products.filter((product) => product.cells.some((cell) => cell.concurrency !== 32)).slice(0, LOOKS.length)
  const good = products.flatMap(({ cells }) => cells).filter((cell) => !cell.errors && cell.per_second > 0)
  const levels = [...new Set(good.map((cell) => cell.concurrency))].sort((a, b) => a - b)
  const exponents = good.map((cell) => Math.log10(cell.per_second))
  const range = [Math.floor(Math.min(...exponents)), Math.ceil(Math.max(...exponents))]
  const names = Object.entries(operations)
  const rows = Math.ceil(names.length / 3)
  const height = PANEL.top + rows * (PANEL.height + PANEL.gapY)
  const panels = names.map(([operation, label], index) => panel({ operation, label, products, levels, range, x: PANEL.left + (index % 3) * (PANEL.width + PANEL.gapX), y: PANEL.top + Math.floor(index / 3) * (PANEL.height + PANEL.gapY) }))
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${height}" role="img" aria-labelledby="title" font-family="system-ui, sans-serif" font-size="12">
<title id="title">Requests per second by concurrency for each operation, ${escape(products.map(({ name }) => name).join(', '))}</title>
<style>
text { fill: #333; } .axis { stroke: #999; } .grid { stroke: #999; stroke-opacity: .25; }
${LOOKS.map((look, index) => `.p${index} { stroke: ${look.light}; fill: ${look.light}; }`).join(' ')}
@media (prefers-color-scheme: dark) { text { fill: #ddd; } ${LOOKS.map((look, index) => `.p${index} { stroke: ${look.dark}; fill: ${look.dark}; }`).join(' ')} }
polyline { fill: none !important; stroke-width: 2; }
</style>
${legend(products)}
${panels.join('\n')}
</svg>
`
}

const escape = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')

function legend(products) {
  let x = PANEL.left
  const entries = products.map(({ name }, index) => {
    const entry = `<g class="p${index}">${LOOKS[index].mark(x, 18)}</g><text x="${x + 12}" y="22">${escape(name)}</text>`
    x += 40 + name.length * 7
    return entry
  })
  return `${entries.join('\n')}\n<text x="${PANEL.left}" y="42">Requests per second (logarithmic) by connections that ask at once</text>`
}

function panel({ operation, label, products, levels, range: [low, high], x, y }) {
  const step = PANEL.width / Math.max(levels.length, 1)
  const px = (level) => x + step * (levels.indexOf(level) + 0.5)
  const py = (rate) => y + PANEL.height * (1 - (Math.log10(rate) - low) / (high - low))
  const round = (value) => Math.round(value * 10) / 10
  const lines = []
  for (let exponent = low; exponent <= high; exponent += 1) {
    const at = round(py(10 ** exponent))
    lines.push(`<line class="grid" x1="${x}" x2="${x + PANEL.width}" y1="${at}" y2="${at}"/><text x="${x - 6}" y="${at + 4}" text-anchor="end">${short(10 ** exponent)}</text>`)
  }
  const ticks = levels.map((level) => `<text x="${round(px(level))}" y="${y + PANEL.height + 16}" text-anchor="middle">${level}</text>`)
  const series = products.map((product, index) => {
    const points = levels.map((level) => product.cells.find((cell) => cell.operation === operation && cell.concurrency === level && !cell.errors && cell.per_second > 0)).filter(Boolean).map((cell) => [round(px(cell.concurrency)), round(py(cell.per_second))])
    return points.length ? `<g class="p${index}"><polyline points="${points.map((point) => point.join(',')).join(' ')}"/>${points.map(([cx, cy]) => LOOKS[index].mark(cx, cy)).join('')}</g>` : ''
  })
  return [`<text x="${x}" y="${y - 8}" font-weight="600">${escape(label)}</text>`, ...lines, `<line class="axis" x1="${x}" x2="${x + PANEL.width}" y1="${y + PANEL.height}" y2="${y + PANEL.height}"/>`, ...ticks, ...series].join('\n')
}

const short = (value) => (value >= 1000 ? `${value / 1000}k` : String(value))
