/** Reads the key of the Gemini API from the environment; undefined when both variables are unset or blank. */
export function geminiKeyOf(env: NodeJS.ProcessEnv = process.env): string | undefined {
  return env.GEMINI_API_KEY?.trim() || env.GOOGLE_API_KEY?.trim() || undefined;
}
