export const write = (results) => JSON.stringify(results.products.map((p) => [p.key, p.start_ms, p.memory]))
