import { useRef, useSyncExternalStore } from "react";

/** A value that components can follow. Updates replace it; nothing mutates it. */
export interface Store<T> {
	get(): T;
	set(update: (current: T) => T): void;
	subscribe(listener: () => void): () => void;
}

/** Makes a store. An update that returns the same value tells nobody. */
export function createStore<T>(initial: T): Store<T> {
	let value = initial;
	const listeners = new Set<() => void>();
	return {
		get: () => value,
		set(update) {
			const next = update(value);
			if (Object.is(next, value)) return;
			value = next;
			for (const listener of [...listeners]) listener();
		},
		subscribe(listener) {
			listeners.add(listener);
			return () => listeners.delete(listener);
		},
	};
}

/** The part of a store that a component draws; it draws again when that part changes by shallow comparison. */
export function useStore<T, S>(store: Store<T>, select: (value: T) => S): S {
	const last = useRef<{ value: S } | undefined>(undefined);
	const snapshot = () => {
		const next = select(store.get());
		if (last.current && shallowEqual(last.current.value, next)) return last.current.value;
		last.current = { value: next };
		return next;
	};
	return useSyncExternalStore(store.subscribe, snapshot);
}

function shallowEqual(a: unknown, b: unknown): boolean {
	if (Object.is(a, b)) return true;
	if (typeof a !== "object" || typeof b !== "object" || !a || !b || Array.isArray(a) !== Array.isArray(b)) return false;
	const left = Object.entries(a);
	const right = b as Record<string, unknown>;
	return (
		left.length === Object.keys(right).length &&
		left.every(([key, value]) => key in right && Object.is(value, right[key]))
	);
}
