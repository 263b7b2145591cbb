/** The files of `npm test` that may take more than 20 s on a quiet machine of two cores, with the reason. */
export const slowFiles: Readonly<Record<string, string>> = {};
