import react from "@vitejs/plugin-react";
import { defineConfig } from "vitest/config";

// The daemon that `npm run dev` sends API calls to; the built page is served by the daemon itself.
const daemon = process.env.USHER_URL ?? "http://127.0.0.1:8765";

export default defineConfig({
	plugins: [react()],
	build: {
		outDir: "dist",
		emptyOutDir: true,
		target: "es2023",
		// The page's policy allows scripts and styles from itself only: nothing may become a data: URL.
		assetsInlineLimit: 0,
		modulePreload: { polyfill: false },
		sourcemap: false,
	},
	server: {
		host: "127.0.0.1",
		// The daemon answers its own page alone, so the proxy speaks for that.
		proxy: Object.fromEntries(
			["/v1", "/sandbox"].map((path) => [path, { target: daemon, changeOrigin: true, headers: { origin: daemon } }]),
		),
	},
	test: {
		environment: "happy-dom",
		include: ["src/**/*.test.{ts,tsx}"],
		restoreMocks: true,
	},
});
