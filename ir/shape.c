// Shapes of tensors: what fits together, and what comes of it.
#include "ir/type.h"

bool type_is_element(const Type *type) {
    bool number = type_is_integer(type) || type_is_float(type);
    return (number || type->kind == TYPE_BOOL) && !type->nullable;
}

const Type *type_element(const Type *type) {
    return type->kind == TYPE_TENSOR ? type->elem : type;
}

bool type_shape_fits(const Type *elem, const uint32_t *shape, uint32_t rank) {
    uint64_t bytes = type_size(elem);
    if (rank < 1 || rank > TENSOR_RANK_MAX) return false;
    for (uint32_t i = 0; i < rank; i++) {
        if (shape[i] < 1 || shape[i] > TENSOR_BYTES_MAX) return false;
        bytes *= shape[i];  // Below 2^60: both are at most 2^30.
        if (bytes > TENSOR_BYTES_MAX) return false;
    }
    return true;
}

uint64_t type_elements(const Type *type) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++) count *= type->shape[i];
    return count;
}

const Type *type_tensor_like(TypeTable *types, const Type *elem, const Type *tensor) {
    return type_tensor(types, elem, tensor->shape, tensor->rank);
}

const Type *type_tensor_part(TypeTable *types, const Type *tensor) {
    if (tensor->rank == 1) return tensor->elem;
    return type_tensor(types, tensor->elem, tensor->shape + 1, tensor->rank - 1);
}

uint32_t type_broadcast(const Type *a, const Type *b, uint32_t *shape, uint32_t *wrong) {
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < rank; i++) {  // From the last dimension on.
        uint32_t x = i < a->rank ? a->shape[a->rank - 1 - i] : 1;
        uint32_t y = i < b->rank ? b->shape[b->rank - 1 - i] : 1;
        *wrong = i;
        if (x != y && x != 1 && y != 1) return 0;
        shape[rank - 1 - i] = x == 1 ? y : x;
    }
    return rank;
}

const Type *type_without_axis(TypeTable *types, const Type *tensor, uint32_t axis) {
    uint32_t shape[TENSOR_RANK_MAX], rank = 0;
    for (uint32_t i = 0; i < tensor->rank; i++)
        if (i != axis) shape[rank++] = tensor->shape[i];
    return rank ? type_tensor(types, tensor->elem, shape, rank) : tensor->elem;
}

const Type *type_resized(TypeTable *types, const Type *tensor, uint32_t axis, uint32_t size) {
    uint32_t shape[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < tensor->rank; i++) shape[i] = i == axis ? size : tensor->shape[i];
    return type_tensor(types, tensor->elem, shape, tensor->rank);
}

const Type *type_permuted(TypeTable *types, const Type *tensor, const uint32_t *order) {
    uint32_t shape[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < tensor->rank; i++) shape[i] = tensor->shape[order[i]];
    return type_tensor(types, tensor->elem, shape, tensor->rank);
}

const Type *type_gathered(TypeTable *types, const Type *tensor, uint32_t axis, const Type *index) {
    uint32_t shape[TENSOR_RANK_MAX], rank = 0;
    if (tensor->rank - 1 + index->rank > TENSOR_RANK_MAX) return nullptr;
    for (uint32_t i = 0; i < tensor->rank; i++) {
        if (i != axis) shape[rank++] = tensor->shape[i];
        for (uint32_t k = 0; i == axis && k < index->rank; k++) shape[rank++] = index->shape[k];
    }
    if (!type_shape_fits(tensor->elem, shape, rank)) return nullptr;
    return type_tensor(types, tensor->elem, shape, rank);
}
