// Paths of the pages, below the base of the explorer.

export const paths = {
  /** @param {number | string} id */
  block: (id) => `/block/${id}`,
  /** @param {number | string} id @param {number} index */
  step: (id, index) => `/block/${id}/step/${index}`,
  /** @param {string} hash */
  transaction: (hash) => `/tx/${hash}`,
  /** @param {string} address */
  address: (address) => `/address/${address}`,
  /** @param {string} text */
  search: (text) => `/search?q=${encodeURIComponent(text)}`,
};
