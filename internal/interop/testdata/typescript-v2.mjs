// A server on the TypeScript SDK 2.x. `legacy=serve` speaks both eras, `legacy=reject` the modern one only.
import { McpServer } from '@modelcontextprotocol/server';
import { serveStdio } from '@modelcontextprotocol/server/stdio';
import { z } from 'zod/v4';

const legacy = process.argv[2] === 'modern' ? 'reject' : 'serve';

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

serveStdio(build, { legacy });
