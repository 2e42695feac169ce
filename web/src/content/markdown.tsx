import { memo, useMemo } from "react";
import ReactMarkdown, { type Components } from "react-markdown";
import remarkGfm from "remark-gfm";
import { splitBlocks, steadyEnd } from "./stream";

// A server's text is not ours to trust: links open elsewhere and tell nothing, images are named and not fetched.
const components: Components = {
	a: ({ href, children }) =>
		href && /^(https?|mailto):/i.test(href) ? (
			<a href={href} target="_blank" rel="noopener noreferrer" title={href}>
				{children}
			</a>
		) : (
			<span>{children}</span>
		),
	img: ({ src, alt }) =>
		typeof src === "string" && /^https?:/i.test(src) ? (
			<a href={src} target="_blank" rel="noopener noreferrer">
				Image: {alt || src}
			</a>
		) : (
			<span>{alt}</span>
		),
	// A server's levels would tear holes into the page's own order: their size tells them apart.
	h1: ({ children }) => <h3 className="md-h1">{children}</h3>,
	h2: ({ children }) => <h3 className="md-h2">{children}</h3>,
	h3: ({ children }) => <h3>{children}</h3>,
	h4: ({ children }) => <h3>{children}</h3>,
	h5: ({ children }) => <h3>{children}</h3>,
	h6: ({ children }) => <h3>{children}</h3>,
	table: ({ children }) => (
		<div className="md-table">
			<table>{children}</table>
		</div>
	),
	// A task list's boxes are pictures of a state, not controls.
	input: ({ checked }) => <span>{checked ? "☑" : "☐"}</span>,
};

const plugins = [remarkGfm];

const Block = memo(function Block({ text }: { text: string }) {
	return (
		<ReactMarkdown remarkPlugins={plugins} components={components}>
			{text}
		</ReactMarkdown>
	);
});

/** Markdown as React elements; HTML in it stays text. While it is live it still grows, and only its end is drawn again. */
export default function Markdown({ text, live }: { text: string; live?: boolean }) {
	const blocks = useMemo(() => splitBlocks(text), [text]);
	return (
		<div className="md">
			{blocks.map((block, i) => (
				// biome-ignore lint/suspicious/noArrayIndexKey: blocks only ever come after others.
				<Block key={i} text={live && i === blocks.length - 1 ? steadyEnd(block) : block} />
			))}
		</div>
	);
}
