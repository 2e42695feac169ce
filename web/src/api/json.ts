/** Any JSON value. */
export type Json = null | boolean | number | string | Json[] | { [key: string]: Json };

/** A JSON object. */
export type JsonObject = { [key: string]: Json };

type RawNumber = { rawJSON: string };
type Reviver = (this: unknown, key: string, value: unknown, context?: { source?: string }) => unknown;
const rawJSON = (JSON as unknown as { rawJSON?: (text: string) => unknown }).rawJSON;
const isRawJSON = (JSON as unknown as { isRawJSON?: (value: unknown) => boolean }).isRawJSON;

const keepDigits: Reviver = (_key, value, context) =>
	typeof value === "number" && context?.source && rawJSON && isInexact(value, context.source)
		? rawJSON(context.source)
		: value;

/** A number that JavaScript cannot hold without changing it: an integer beyond 2^53, or one that became infinite. */
function isInexact(value: number, source: string): boolean {
	if (!Number.isFinite(value)) return true;
	return /^-?\d+$/.test(source) && !Number.isSafeInteger(value);
}

/**
 * Parses JSON and keeps numbers that JavaScript would round as they were written, where the browser can
 * (JSON.rawJSON); JSON.stringify then writes the same digits again.
 */
export function parseJSON(text: string): unknown {
	return /\d{16}|[eE]\d/.test(text) ? JSON.parse(text, keepDigits as never) : JSON.parse(text);
}

/** Whether the value is a number kept as it was written. */
export function isRawNumber(value: unknown): value is RawNumber {
	return Boolean(isRawJSON?.(value));
}

/** A copy made of plain values only, fit for postMessage: numbers kept as written become numbers. */
export function plainJSON<T>(value: T): T {
	return value === undefined ? value : (JSON.parse(JSON.stringify(value)) as T);
}

/** Whether the value is a JSON object: not an array, not null, not a number kept as written. */
export function isObject(value: unknown): value is JsonObject {
	return typeof value === "object" && value !== null && !Array.isArray(value) && !isRawNumber(value);
}

/** JSON as a person reads it. */
export function pretty(value: unknown): string {
	return JSON.stringify(value, null, 2) ?? "";
}
