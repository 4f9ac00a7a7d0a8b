// What is the same for every product.

export const SCOPE = 'invoices:read'
export const API = 'https://ledger.example.org'
export const REDIRECT = 'https://app.example.org/callback'
/** Of all access tokens. */
export const ALGORITHM = process.env.PEERS_ALGORITHM ?? 'ES256'
export const PORTS = {
  postgres: Number(process.env.PEERS_PORT ?? 21500),
  mail: Number(process.env.PEERS_PORT ?? 21500) + 1,
  // Each product has ten.
  product: (number) => Number(process.env.PEERS_PORT ?? 21500) + 10 * (number + 1),
}
