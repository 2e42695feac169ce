// Loaded before a server that would listen on every interface: whatever it listens on is a free loopback port. Says the
// URL on stdout, alone, and leaves when stdin ends.
import { Server } from 'node:net';

console.log = console.error;
const listen = Server.prototype.listen;
Server.prototype.listen = function (...args) {
  const done = args.findLast((arg) => typeof arg === 'function');
  return listen.call(this, { host: '127.0.0.1', port: 0 }, () => {
    process.stdout.write(`http://127.0.0.1:${this.address().port}/mcp\n`);
    done?.();
  });
};
process.stdin.on('end', () => process.exit(0)).resume();
