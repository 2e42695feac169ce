const day = 86_400_000;
const clock = new Intl.DateTimeFormat(undefined, { hour: "2-digit", minute: "2-digit" });
const weekday = new Intl.DateTimeFormat(undefined, { weekday: "long" });
const date = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short" });
const dateYear = new Intl.DateTimeFormat(undefined, { day: "numeric", month: "short", year: "numeric" });
const exact = new Intl.DateTimeFormat(undefined, { dateStyle: "full", timeStyle: "medium" });

/** The local time of day. */
export function clockTime(time: string): string {
	const at = new Date(time);
	return Number.isNaN(at.getTime()) ? "" : clock.format(at);
}

/** The whole local date and time, for hovering. */
export function exactTime(time: string): string {
	const at = new Date(time);
	return Number.isNaN(at.getTime()) ? time : exact.format(at);
}

/** The name of a day seen from now: Today, Yesterday, a weekday, a date. */
export function dayName(time: string, now = new Date()): string {
	const at = new Date(time);
	if (Number.isNaN(at.getTime())) return "Undated";
	const start = (d: Date) => new Date(d.getFullYear(), d.getMonth(), d.getDate()).getTime();
	const days = Math.round((start(now) - start(at)) / day);
	if (days <= 0) return "Today";
	if (days === 1) return "Yesterday";
	if (days < 7) return weekday.format(at);
	return at.getFullYear() === now.getFullYear() ? date.format(at) : dateYear.format(at);
}

/** A duration with two or three figures: 12 ms, 1.4 s, 2 min 5 s. */
export function duration(ms: number): string {
	if (ms < 1000) return `${Math.round(ms)} ms`;
	if (ms < 9950) return `${(ms / 1000).toFixed(1)} s`;
	const seconds = Math.round(ms / 1000);
	if (seconds < 60) return `${seconds} s`;
	if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
	const minutes = Math.round(seconds / 60);
	return `${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}

/** How long something has been going on, in whole seconds: a clock that ticks. */
export function elapsed(ms: number): string {
	const seconds = Math.max(0, Math.floor(ms / 1000));
	return seconds < 60 ? `${seconds} s` : duration(seconds * 1000);
}

/** A size in the unit that fits. */
export function bytes(count: number): string {
	if (count < 1024) return `${count} B`;
	if (count < 1024 * 1024) return `${(count / 1024).toFixed(1)} KiB`;
	return `${(count / 1024 / 1024).toFixed(1)} MiB`;
}

/** A number and its noun. */
export function count(n: number, one: string, many = `${one}s`): string {
	return `${n.toLocaleString()} ${n === 1 ? one : many}`;
}
