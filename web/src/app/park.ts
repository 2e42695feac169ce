type Movable = HTMLElement & { moveBefore?(node: Node, child: Node | null): void };

/**
 * Moves a frame out of sight, alive, so that an app can still tear down after its place left the page. An ordinary
 * move would reload the frame, so it needs a browser with moveBefore; false says that there is none, or that the
 * frame is not in the page any more.
 */
export function park(frame: HTMLIFrameElement): boolean {
	if (!frame.isConnected) return false;
	const yard = (document.getElementById(id) ?? open()) as Movable;
	if (!yard.moveBefore) return false;
	const { width, height } = frame.getBoundingClientRect();
	try {
		yard.moveBefore(frame, null);
	} catch {
		return false;
	}
	frame.style.width = `${width}px`;
	frame.style.height = `${height}px`;
	return true;
}

const id = "parked-apps";

function open(): HTMLElement {
	const yard = document.createElement("div");
	yard.id = id;
	yard.inert = true;
	yard.setAttribute("aria-hidden", "true");
	// Set through the object model: the page's policy allows no style attributes.
	Object.assign(yard.style, {
		position: "fixed",
		left: "-100000px",
		top: "0",
		visibility: "hidden",
		pointerEvents: "none",
	});
	document.body.append(yard);
	return yard;
}
