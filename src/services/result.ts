/** Expected failures as values. */

/** An expected failure is a value: one sentence that says what to do next. */
export type Result<T> = { ok: true; value: T } | { ok: false; message: string }
