/** Bounds of an app's height in CSS pixels. The width is the host's. */
export const heights = { initial: 260, least: 60, most: 800 };

/** Changes this small are measuring noise, or an app whose height follows its own frame. */
const noise = 4;
/** So many growths in a row of at most this much each are a loop, not content. */
const loop = { growths: 12, by: 40 };

/** Follows the heights an app reports. */
export interface HeightFollower {
	/** The height to draw after a report; the present one when the report is noise, nonsense or part of a loop. */
	report(size: { width?: unknown; height?: unknown }): number;
	/** The width changed, so that any height may follow from it. */
	rewidth(): void;
}

export function followHeight(limits = heights): HeightFollower {
	let now = limits.initial;
	let last = now;
	let creeping = 0;
	let settled = false; // the first report may differ by little and still be meant
	return {
		report({ width, height }) {
			// A frame that comes back into view reports the width 0 first.
			if (width === 0 || typeof height !== "number" || !Number.isFinite(height) || height <= 0) return now;
			const next = Math.min(limits.most, Math.max(limits.least, Math.ceil(height)));
			// Measured from report to report, so that neither an app that follows its frame nor one that grows by
			// itself gets past the end of its patience. The same height once more says nothing.
			const grown = next - last;
			last = next;
			if (grown > 0 && grown <= loop.by) creeping += 1;
			else if (grown !== 0) creeping = 0;
			if (creeping > loop.growths || (settled && Math.abs(next - now) <= noise)) return now;
			settled = true;
			now = next;
			return now;
		},
		rewidth() {
			creeping = 0;
		},
	};
}
