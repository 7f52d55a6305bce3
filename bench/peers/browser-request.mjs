/** The measured request, which a browser would send to fetch a list. */

export const PATH = '/api/public/v1/workspaces?limit=25';

/**
 * @param {string} cookie
 * @returns {Record<string, string>}
 */
export function browserHeaders(cookie) {
  return {
    Host: 'localhost:3000',
    Connection: 'keep-alive',
    'sec-ch-ua-platform': '"Linux"',
    'User-Agent':
      'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/142.0.0.0 Safari/537.36',
    'sec-ch-ua': '"Chromium";v="142", "Not_A Brand";v="99"',
    'sec-ch-ua-mobile': '?0',
    Accept: 'application/json',
    'Cache-Control': 'no-cache',
    'Sec-Fetch-Site': 'same-origin',
    'Sec-Fetch-Mode': 'cors',
    'Sec-Fetch-Dest': 'empty',
    Referer: 'http://localhost:3000/workspaces',
    'Accept-Encoding': 'gzip, deflate, br, zstd',
    'Accept-Language': 'en-GB,en;q=0.9',
    Cookie: cookie,
  };
}

/**
 * Returns the bytes of the measured request.
 * @param {string} cookie
 */
export function requestBytes(cookie) {
  const fields = Object.entries(browserHeaders(cookie)).map(([name, value]) => `${name}: ${value}\r\n`);
  return Buffer.from(`GET ${PATH} HTTP/1.1\r\n${fields.join('')}\r\n`, 'latin1');
}
