import { api } from "../api/client";
import { wireError } from "../api/http";
import type { Catalog, Server, Error as WireError } from "../api/types.gen";
import { noticeFailure } from "../store/auth";
import { createStore } from "../store/store";

/** The servers and what they offer, as last fetched. */
export interface Host {
	servers: readonly Server[] | undefined;
	catalog: Catalog | undefined;
	problem: WireError | undefined;
}

export const host = createStore<Host>({ servers: undefined, catalog: undefined, problem: undefined });

/** While something is on its way, and no stream says how it goes, the servers are asked this often. */
const pollMs = 1500;
const settleMs = 80;

let running: Promise<void> | undefined;
let again = false;
let soon: ReturnType<typeof setTimeout> | undefined;

/** Fetches servers and catalog. Calls that come while a fetch runs are answered by one more fetch. */
export function refreshHost(): Promise<void> {
	if (running) {
		again = true;
		return running;
	}
	running = (async () => {
		do {
			again = false;
			await fetchHost();
		} while (again);
	})().finally(() => {
		running = undefined;
	});
	return running;
}

/** A hint that something changed: many hints in a moment are one fetch. */
export function hintHostChanged(): void {
	if (soon !== undefined) return;
	soon = setTimeout(() => {
		soon = undefined;
		void refreshHost();
	}, settleMs);
}

async function fetchHost(): Promise<void> {
	const [servers, catalog] = await Promise.allSettled([api.servers(), api.catalog()]);
	const failed = [servers, catalog].find((result) => result.status === "rejected");
	if (failed?.status === "rejected") noticeFailure(failed.reason);
	host.set((now) => ({
		servers: servers.status === "fulfilled" ? servers.value.servers : now.servers,
		catalog:
			catalog.status === "fulfilled" && catalog.value.revision !== now.catalog?.revision ? catalog.value : now.catalog,
		problem: failed?.status === "rejected" ? wireError(failed.reason) : undefined,
	}));
}

const onTheirWay = new Set(["connecting", "reconnecting"]);

/** Keeps the servers fresh while no session's stream does it. Returns what stops it. */
export function pollHost(): () => void {
	const timer = setInterval(() => {
		const { servers, problem } = host.get();
		if (document.hidden) return;
		if (!servers || problem || servers.some((server) => onTheirWay.has(server.state))) void refreshHost();
	}, pollMs);
	const shown = () => {
		if (!document.hidden) void refreshHost();
	};
	document.addEventListener("visibilitychange", shown);
	return () => {
		clearInterval(timer);
		document.removeEventListener("visibilitychange", shown);
	};
}
