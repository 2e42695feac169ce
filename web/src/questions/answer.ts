import { api } from "../api/client";
import { ApiError, wireError } from "../api/http";
import type { AnswerRequest, Error as WireError } from "../api/types.gen";
import { noticeFailure } from "../store/auth";
import { toast } from "../store/toast";

/** What this page calls itself when it answers. */
const surface = "webshell";

/**
 * Answers a question. An answer that came too late is told, and the log says how the question ended. What is
 * returned is what the person can do something about.
 */
export async function sendAnswer(
	questionId: string,
	answer: Omit<AnswerRequest, "by">,
): Promise<WireError | undefined> {
	try {
		await api.answer(questionId, { ...answer, by: surface });
		return undefined;
	} catch (cause) {
		noticeFailure(cause);
		const error = wireError(cause);
		if (cause instanceof ApiError && [404, 409, 410].includes(cause.status)) {
			toast(cause.status === 404 ? "This question does not wait any more." : `Too late: ${lower(error.message)}`);
			return undefined;
		}
		return error;
	}
}

function lower(sentence: string): string {
	return sentence.slice(0, 1).toLowerCase() + sentence.slice(1);
}
