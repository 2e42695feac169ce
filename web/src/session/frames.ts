/** More live frames than this make a browser slow. */
export const maxFrames = 8;

interface Claim {
	box: Element;
	seen: number;
	visible: boolean;
	evict(): void;
}

const claims = new Set<Claim>();
let clock = 0;
let observer: IntersectionObserver | undefined;

/**
 * Counts a live frame until the returned function is called. When there are too many, the one out of view for
 * longest is evicted; frames in view never are.
 */
export function claimFrame(box: Element, evict: () => void): () => void {
	observer ??= new IntersectionObserver((entries) => {
		for (const entry of entries) {
			for (const claim of claims) {
				if (claim.box !== entry.target) continue;
				claim.visible = entry.isIntersecting;
				claim.seen = ++clock;
			}
		}
	});
	const claim: Claim = { box, seen: ++clock, visible: true, evict };
	claims.add(claim);
	observer.observe(box);
	const hidden = [...claims].filter((one) => !one.visible).sort((a, b) => a.seen - b.seen);
	for (const one of hidden.slice(0, Math.max(0, claims.size - maxFrames))) {
		release(one);
		one.evict();
	}
	return () => release(claim);
}

function release(claim: Claim): void {
	claims.delete(claim);
	observer?.unobserve(claim.box);
}
