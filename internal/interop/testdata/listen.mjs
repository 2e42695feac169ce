// Serves a Node request handler on a free loopback port, says the URL on stdout, and leaves when stdin ends.
import { createServer } from 'node:http';

export function listen(handler) {
  const server = createServer(handler).listen(0, '127.0.0.1', () => {
    console.log(`http://127.0.0.1:${server.address().port}/mcp`);
  });
  process.stdin.on('end', () => process.exit(0)).resume();
}
