/** The longest CSP that the sandbox's address may carry, in bytes of JSON. */
const maxCSPBytes = 8192;

export type SandboxAddress = { url: string } | { problem: string };

/**
 * Where the sandbox page of an app is loaded from: the other loopback name of this page's own daemon, so that the
 * frame has another origin even before it is made opaque. Without one there is no app.
 */
export function sandboxAddress(
	page: { protocol: string; hostname: string; port: string; origin: string },
	swap: boolean,
	csp: unknown,
): SandboxAddress {
	const other = otherLoopback(page.hostname);
	if (other === undefined) {
		return { problem: "apps are shown only on a page of this machine's own address, such as http://127.0.0.1" };
	}
	if (!swap) {
		return {
			problem:
				"another program may answer on this port of the other loopback address, so apps have no origin of their own",
		};
	}
	const query = new URLSearchParams({ host: page.origin });
	if (typeof csp === "object" && csp !== null && Object.keys(csp).length > 0) {
		const text = JSON.stringify(csp);
		if (new TextEncoder().encode(text).length > maxCSPBytes) return { problem: "it declares too many origins" };
		query.set("csp", text);
	}
	const port = page.port === "" ? "" : `:${page.port}`;
	return { url: `${page.protocol}//${other}${port}/sandbox?${query}` };
}

function otherLoopback(hostname: string): string | undefined {
	switch (hostname) {
		case "127.0.0.1":
		case "[::1]":
			return "localhost";
		case "localhost":
			return "127.0.0.1";
		default:
			return undefined;
	}
}
