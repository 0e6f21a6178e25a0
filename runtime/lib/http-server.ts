import type { Server } from 'node:http';

/** Stops taking connections, closes idle ones, and resolves when the last one ended; after `graceMs` the rest is cut. */
export function closeServer(server: Server, graceMs: number): Promise<void> {
  return new Promise((resolve) => {
    const cut = setTimeout(() => server.closeAllConnections(), graceMs);
    server.close(() => {
      clearTimeout(cut);
      resolve();
    });
    server.closeIdleConnections();
  });
}
