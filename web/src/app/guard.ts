/** What one message of an app may hold. Apps have little to say to this host: sizes, and requests it declines. */
const limits = { characters: 256 * 1024, values: 10_000, depth: 64 };

/** Whether a value is small and plain enough to be looked at. The walk ends as soon as a limit is passed. */
export function fits(value: unknown): boolean {
	let characters = 0;
	let values = 0;
	const walk = (one: unknown, depth: number): boolean => {
		values += 1;
		if (values > limits.values || depth > limits.depth) return false;
		switch (typeof one) {
			case "string":
				characters += one.length;
				return characters <= limits.characters;
			case "number":
			case "boolean":
			case "undefined":
				return true;
			case "object":
				break;
			default:
				return false;
		}
		if (one === null) return true;
		if (Array.isArray(one)) return one.every((item) => walk(item, depth + 1));
		if (Object.getPrototypeOf(one) !== Object.prototype) return false; // maps, buffers, files: no JSON
		for (const key of Object.keys(one)) {
			characters += key.length;
			if (characters > limits.characters || !walk((one as Record<string, unknown>)[key], depth + 1)) return false;
		}
		return true;
	};
	return walk(value, 0);
}

/** A bucket of messages: so many at once, so many a second after that. */
export function allowance(burst: number, perSecond: number, now: () => number = () => performance.now()) {
	let left = burst;
	let last = now();
	return (): boolean => {
		const at = now();
		left = Math.min(burst, left + ((at - last) / 1000) * perSecond);
		last = at;
		if (left < 1) return false;
		left -= 1;
		return true;
	};
}
