import { createStore } from "./store";

/** Where the person is. The address keeps it, behind the #, so that the daemon need not know. */
export type Route =
	| { place: "session"; id: string | undefined }
	| { place: "servers" }
	| { place: "server"; name: string; tab: ServerTab };

export const serverTabs = ["overview", "tools", "prompts", "resources", "stderr"] as const;
export type ServerTab = (typeof serverTabs)[number];

export const route = createStore<Route>(parseRoute(location.hash));

addEventListener("hashchange", () => route.set(() => parseRoute(location.hash)));

/** Reads an address's fragment; anything unknown is a new session. */
export function parseRoute(hash: string): Route {
	const [place, id, tab] = hash
		.replace(/^#\/?/, "")
		.split("/")
		.map((part) => {
			try {
				return decodeURIComponent(part);
			} catch {
				return part;
			}
		});
	if (place === "s" && id) return { place: "session", id };
	if (place === "servers" && id) {
		return { place: "server", name: id, tab: serverTabs.find((known) => known === tab) ?? "overview" };
	}
	if (place === "servers") return { place: "servers" };
	return { place: "session", id: undefined };
}

/** The fragment of a place, for links. */
export function hrefOf(to: Route): string {
	switch (to.place) {
		case "session":
			return to.id ? `#/s/${encodeURIComponent(to.id)}` : "#/";
		case "servers":
			return "#/servers";
		case "server":
			return `#/servers/${encodeURIComponent(to.name)}${to.tab === "overview" ? "" : `/${to.tab}`}`;
	}
}

/** Goes to a place; replace leaves no way back to where the person was. */
export function go(to: Route, replace = false): void {
	if (replace) history.replaceState(null, "", hrefOf(to));
	else history.pushState(null, "", hrefOf(to));
	route.set(() => parseRoute(location.hash));
}
