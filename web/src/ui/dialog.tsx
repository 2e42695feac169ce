import { type ReactNode, useEffect, useId, useRef } from "react";
import { Icon } from "./icons";

/** A modal window: the browser's own dialog, so focus stays in and goes back, and Esc closes. */
export function Dialog(props: {
	title: string;
	onClose(): void;
	children: ReactNode;
	footer?: ReactNode;
	wide?: boolean;
	/** Without a head of its own, the title is only said. */
	bare?: boolean;
	className?: string;
}) {
	const ref = useRef<HTMLDialogElement>(null);
	const title = useId();
	useEffect(() => {
		const dialog = ref.current;
		if (dialog && !dialog.open) dialog.showModal();
		return () => dialog?.close();
	}, []);
	return (
		// biome-ignore lint/a11y/useKeyWithClickEvents: Esc is the dialog's own key; a click beside it is a shortcut for pointers.
		<dialog
			ref={ref}
			className={`dialog${props.wide ? " dialog-wide" : ""} ${props.className ?? ""}`}
			aria-labelledby={props.bare ? undefined : title}
			aria-label={props.bare ? props.title : undefined}
			onCancel={(event) => {
				event.preventDefault();
				props.onClose();
			}}
			onClick={(event) => {
				if (event.target === event.currentTarget) props.onClose();
			}}
		>
			<div className="dialog-inside">
				{!props.bare && (
					<header className="dialog-head">
						<h2 id={title}>{props.title}</h2>
						<button type="button" className="button-icon" aria-label="Close" onClick={props.onClose}>
							<Icon name="close" />
						</button>
					</header>
				)}
				<div className="dialog-body">{props.children}</div>
				{props.footer && <footer className="dialog-foot">{props.footer}</footer>}
			</div>
		</dialog>
	);
}
