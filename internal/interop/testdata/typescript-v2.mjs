// A server on the TypeScript SDK 2.x: both eras, or the modern one only with the argument modern; over stdio or, with the
// second argument http, over Streamable HTTP.
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod/v4';
import { listen } from './listen.mjs';

const [, , eras, transport] = process.argv;
const modernOnly = eras === 'modern';

function build() {
  const server = new McpServer({ name: 'typescript-v2', version: '1.0.0' }, { instructions: 'Say hello.' });
  server.registerTool(
    'echo',
    { description: 'Says it back', inputSchema: z.object({ message: z.string() }), annotations: { readOnlyHint: true } },
    async ({ message }) => ({ content: [{ type: 'text', text: `echo: ${message}` }] }),
  );
  server.registerTool('fail', { description: 'Always fails', inputSchema: z.object({}) }, async () => ({
    content: [{ type: 'text', text: 'it failed' }],
    isError: true,
  }));
  server.registerTool(
    'sum',
    {
      description: 'Adds',
      inputSchema: z.object({ a: z.number(), b: z.number() }),
      outputSchema: z.object({ sum: z.number() }),
    },
    async ({ a, b }) => ({ content: [{ type: 'text', text: String(a + b) }], structuredContent: { sum: a + b } }),
  );
  server.registerPrompt(
    'greet',
    { description: 'Greets', argsSchema: z.object({ name: z.string() }) },
    async ({ name }) => ({ messages: [{ role: 'user', content: { type: 'text', text: `Hello, ${name}` } }] }),
  );
  server.registerResource('note', 'memo://note', { description: 'A note', mimeType: 'text/plain' }, async (uri) => ({
    contents: [{ uri: uri.href, mimeType: 'text/plain', text: 'a note' }],
  }));
  return server;
}

if (transport === 'http') {
  const handler = createMcpHandler(build, { legacy: modernOnly ? 'reject' : 'stateless' });
  listen(async (req, res) => {
    const hasBody = req.method === 'POST';
    const answer = await handler.fetch(
      new Request(`http://${req.headers.host}${req.url}`, {
        method: req.method,
        headers: req.headers,
        ...(hasBody && { body: req, duplex: 'half' }),
      }),
    );
    res.writeHead(answer.status, Object.fromEntries(answer.headers));
    if (answer.body) {
      for await (const chunk of answer.body) res.write(chunk);
    }
    res.end();
  });
} else {
  serveStdio(build, { legacy: modernOnly ? 'reject' : 'serve' });
}
