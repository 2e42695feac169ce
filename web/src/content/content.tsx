import { useMemo } from "react";
import { isObject, type JsonObject } from "../api/json";
import { Icon } from "../ui/icons";
import { JsonView } from "../ui/jsonview";
import { openResource } from "./open";
import { TextBlock } from "./text";

/** One content block of a result or a prompt message, as the server sent it. What is not known is shown as JSON. */
export function ContentBlock({ server, block }: { server: string; block: unknown }) {
	if (!isObject(block)) return <JsonView value={block} />;
	switch (block.type) {
		case "text":
			return <TextBlock text={str(block.text)} />;
		case "image":
			return <Media kind="image" data={str(block.data)} mimeType={str(block.mimeType)} />;
		case "audio":
			return <Media kind="audio" data={str(block.data)} mimeType={str(block.mimeType)} />;
		case "resource_link":
			return (
				<ResourceLink
					server={server}
					uri={str(block.uri)}
					name={str(block.title) || str(block.name)}
					mimeType={str(block.mimeType)}
					description={str(block.description)}
				/>
			);
		case "resource":
			return isObject(block.resource) ? <ResourceContents contents={block.resource} /> : <JsonView value={block} />;
		default:
			return <JsonView value={block} />;
	}
}

/** One item of a read resource: text, picture, sound, or something to save. */
export function ResourceContents({ contents }: { contents: JsonObject }) {
	const uri = str(contents.uri);
	const mimeType = str(contents.mimeType);
	return (
		<figure className="resource">
			<figcaption>
				<Icon name="file" />
				<span className="resource-uri">{uri}</span>
				{mimeType && <span className="muted">{mimeType}</span>}
			</figcaption>
			{typeof contents.text === "string" ? (
				<TextBlock text={contents.text} mimeType={mimeType || undefined} />
			) : typeof contents.blob === "string" ? (
				<Media
					kind={mimeType.startsWith("image/") ? "image" : mimeType.startsWith("audio/") ? "audio" : "file"}
					data={contents.blob}
					mimeType={mimeType}
					name={uri.split(/[/?#]/).filter(Boolean).at(-1) ?? ""}
				/>
			) : (
				<JsonView value={contents} />
			)}
		</figure>
	);
}

function ResourceLink(props: { server: string; uri: string; name: string; mimeType: string; description: string }) {
	return (
		<div className="resource-link">
			<button type="button" className="button" onClick={() => openResource({ server: props.server, uri: props.uri })}>
				<Icon name="file" />
				{props.name || props.uri}
			</button>
			<span className="resource-uri muted">{props.uri}</span>
			{props.mimeType && <span className="muted">{props.mimeType}</span>}
			{props.description && <p className="muted">{props.description}</p>}
		</div>
	);
}

/** Media types that a browser draws without running anything. */
const drawable = /^(image\/(png|jpeg|gif|webp|avif|bmp|svg\+xml|x-icon)|audio\/[a-z0-9.+-]+)$/i;

function Media(props: { kind: "image" | "audio" | "file"; data: string; mimeType: string; name?: string }) {
	const size = Math.floor((props.data.length * 3) / 4);
	const url = useMemo(
		() => (drawable.test(props.mimeType) ? `data:${props.mimeType};base64,${props.data}` : ""),
		[props.data, props.mimeType],
	);
	if (props.kind === "image" && url) {
		return <img className="media" src={url} alt={props.name || `What the server drew (${props.mimeType})`} />;
	}
	if (props.kind === "audio" && url) {
		// biome-ignore lint/a11y/useMediaCaption: what a server recorded comes without captions.
		return <audio className="media" controls src={url} aria-label={props.name || "What the server recorded"} />;
	}
	return (
		<button type="button" className="button" onClick={() => save(props.data, props.mimeType, props.name || "download")}>
			<Icon name="down" />
			Save {props.name || "file"}
			<span className="muted">
				{props.mimeType || "unknown type"}, {Math.ceil(size / 1024).toLocaleString()} KiB
			</span>
		</button>
	);
}

function save(base64: string, mimeType: string, name: string): void {
	const blob = new Blob([Uint8Array.from(atob(base64), (c) => c.charCodeAt(0))], {
		type: mimeType || "application/octet-stream",
	});
	const link = document.createElement("a");
	link.href = URL.createObjectURL(blob);
	link.download = name.replace(/[^\p{L}\p{N}._ -]/gu, "_").slice(0, 120);
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

function str(value: unknown): string {
	return typeof value === "string" ? value : "";
}
