// A server on the TypeScript SDK 1.x: the legacy era only, over stdio or, with the argument http, over Streamable HTTP.
import { randomUUID } from 'node:crypto';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { z } from 'zod';
import { listen } from './listen.mjs';

const server = new McpServer({ name: 'typescript-v1', version: '1.0.0' }, { instructions: 'Say hello.' });
server.registerTool(
  'echo',
  { description: 'Says it back', inputSchema: { message: z.string() }, annotations: { readOnlyHint: true } },
  async ({ message }) => ({ content: [{ type: 'text', text: `echo: ${message}` }] }),
);
server.registerTool('fail', { description: 'Always fails', inputSchema: {} }, async () => ({
  content: [{ type: 'text', text: 'it failed' }],
  isError: true,
}));
server.registerTool(
  'sum',
  {
    description: 'Adds',
    inputSchema: { a: z.number(), b: z.number() },
    outputSchema: { sum: z.number() },
  },
  async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
);
server.registerPrompt('greet', { description: 'Greets', argsSchema: { name: z.string() } }, async ({ name }) => ({
  messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}` } }],
}));
server.registerResource('note', 'memo://note', { description: 'A note', mimeType: 'text/plain' }, async (uri) => ({
  contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a note' }],
}));
if (process.argv[2] === 'http') {
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => randomUUID() });
  await server.connect(transport);
  listen((req, res) => transport.handleRequest(req, res));
} else {
  await server.connect(new StdioServerTransport());
}
