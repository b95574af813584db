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
        if (dimension_is_open(shape[i])) continue;
        if (shape[i] < 1 || shape[i] > TENSOR_BYTES_MAX) return false;
        bytes *= shape[i];  // Below 2^60: both are at most 2^30.
        if (bytes > TENSOR_BYTES_MAX) return false;
    }
    return true;
}

uint64_t type_elements(const Type *type) {
    uint64_t count = 1;
    for (uint32_t i = 0; i < type->rank; i++)
        if (!dimension_is_open(type->shape[i])) count *= type->shape[i];
    return count;
}

uint32_t type_open_count(const Type *type) {
    uint32_t count = 0;
    for (uint32_t i = 0; i < type->rank; i++) count += dimension_is_open(type->shape[i]);
    return count;
}

uint64_t type_lead_bytes(const Type *type) {
    uint32_t open = type_open_count(type);
    return open > 1 ? open * sizeof(uint64_t) : 0;
}

bool type_list_may_be(const Type *from, const Type *to) {
    const Type *tensor = from->kind == TYPE_TENSOR ? from : to;
    const Type *list = from->kind == TYPE_TENSOR ? to : from;
    return tensor->kind == TYPE_TENSOR && list->kind == TYPE_LIST && tensor->rank == 1 &&
           tensor->elem == list->elem && !tensor->nullable && !list->nullable;
}

const Type *type_either(TypeTable *types, const Type *a, const Type *b) {
    uint32_t shape[TENSOR_RANK_MAX];
    for (uint32_t i = 0; i < a->rank; i++)
        shape[i] = a->shape[i] == b->shape[i] ? a->shape[i] : DIMENSION_ANY;
    return type_tensor(types, a->elem, shape, a->rank);
}

bool type_same_but_ones(const Type *a, const Type *b) {
    for (uint32_t i = 0, k = 0;; i++, k++) {
        while (i < a->rank && a->shape[i] == 1) i++;
        while (k < b->rank && b->shape[k] == 1) k++;
        if (i == a->rank || k == b->rank) return i == a->rank && k == b->rank;
        if (a->shape[i] != b->shape[k]) return false;
    }
}

bool type_may_be(const Type *from, const Type *to) {
    if (from->kind != TYPE_TENSOR || to->kind != TYPE_TENSOR || from->elem != to->elem ||
        from->rank != to->rank || from->nullable != to->nullable)
        return false;
    for (uint32_t i = 0; i < to->rank; i++) {
        uint32_t a = from->shape[i], b = to->shape[i];
        if (a != b && !dimension_is_open(a) && !dimension_is_open(b)) return false;
    }
    return true;
}

const Type *type_tensor_like(TypeTable *types, const Type *elem, const Type *tensor) {
    return type_tensor(types, elem, tensor->shape, tensor->rank);
}

const Type *type_tensor_part(TypeTable *types, const Type *tensor) {
    if (tensor->rank == 1) return tensor->elem;
    return type_tensor(types, tensor->elem, tensor->shape + 1, tensor->rank - 1);
}

// What two dimensions broadcast to. 0: they differ.
static uint32_t meet(uint32_t x, uint32_t y) {
    if (x == 1 || x == y) return y;
    if (y == 1) return x;
    if (!dimension_is_open(x)) return dimension_is_open(y) ? x : 0;
    return !dimension_is_open(y) || x == DIMENSION_ANY ? y : x;
}

uint32_t type_broadcast(const Type *a, const Type *b, uint32_t *shape, uint32_t *wrong) {
    uint32_t rank = a->rank > b->rank ? a->rank : b->rank;
    for (uint32_t i = 0; i < rank; i++) {  // From the last dimension on.
        uint32_t x = i < a->rank ? a->shape[a->rank - 1 - i] : 1;
        uint32_t y = i < b->rank ? b->shape[b->rank - 1 - i] : 1;
        *wrong = i;
        shape[rank - 1 - i] = meet(x, y);
        if (!shape[rank - 1 - i]) return 0;
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
