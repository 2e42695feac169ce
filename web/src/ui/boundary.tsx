import { Component, type ReactNode } from "react";

/** Keeps what cannot be drawn from taking the rest of the page with it. */
export class Boundary extends Component<
	{ children: ReactNode; fallback: ReactNode; onError?(reason: string): void },
	{ failed: boolean }
> {
	override state = { failed: false };
	static getDerivedStateFromError() {
		return { failed: true };
	}
	override componentDidCatch(error: unknown) {
		this.props.onError?.(error instanceof Error ? error.message : String(error));
	}
	override render() {
		return this.state.failed ? this.props.fallback : this.props.children;
	}
}
