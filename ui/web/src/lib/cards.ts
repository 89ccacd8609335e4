export { default as ApprovalCard } from '../components/ApprovalCard.svelte'
export { default as Dock } from '../components/Dock.svelte'
export { default as QuestionCard } from '../components/QuestionCard.svelte'
